//! The program that a host starts.

mod json;
mod provider;
mod store;
mod wire;

fn main() {
    wire::serve(provider::ExampleMemory::default());
}
