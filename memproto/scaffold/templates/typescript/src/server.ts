#!/usr/bin/env node
/** The program that a host starts. */

import { ExampleMemory } from "./provider.js";
import { serve } from "./wire.js";

serve(new ExampleMemory());
