import { fastTierSeeds } from './property-run.js';
import { declareSeedTests } from './property-tests.js';

// Q6, Q7, Q8, Q13: runs 1,000 random cases; property-first.slow.test.ts and property-second.slow.test.ts run 10,500.
declareSeedTests(fastTierSeeds());
