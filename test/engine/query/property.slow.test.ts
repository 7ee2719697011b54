import { fewSeeds } from './property-run.js';
import { testSeeds } from './property-tests.js';

// Q6, Q7, Q8, Q13: 1,000 random cases; property-first.slow.test.ts and property-second.slow.test.ts share 10,000.
testSeeds(fewSeeds());
