import { testSeeds } from "./seeds.js";

testSeeds(1501, 500);
