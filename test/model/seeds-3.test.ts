import { testSeeds } from "./seeds.js";

testSeeds(1001, 500);
