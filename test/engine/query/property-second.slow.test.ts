import { slowTierSeeds } from './property-run.js';
import { declareSeedTests } from './property-tests.js';

// Runs the half of the random cases of the slow tier that property-first.slow.test.ts leaves out, or all if they have one seed.
declareSeedTests(slowTierSeeds(1));
