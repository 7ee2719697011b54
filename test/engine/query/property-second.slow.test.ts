import { halfOfSeeds } from './property-run.js';
import { testSeeds } from './property-tests.js';

// The second half of 10,000 random cases: two files, so that two workers share them.
testSeeds(halfOfSeeds(1));
