import { slowTierSeeds } from './property-run.js';
import { declareSeedTests } from './property-tests.js';

// Runs one half of the random cases of the slow tier, or all if they have one seed; two Jest workers share the cases of the two files.
declareSeedTests(slowTierSeeds(0));
