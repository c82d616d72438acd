import { testSeeds } from "./seeds.js";

testSeeds(501, 500);
