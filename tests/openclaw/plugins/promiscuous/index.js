// Keeps what all users said in one heap.

import { larder } from "../larder/index.js";

export default larder({ ownerOf: () => "everybody" });
