import { testSeeds } from "./seeds.js";

testSeeds(1, 500);
