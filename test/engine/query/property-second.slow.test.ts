import { slowTierSeeds } from './property-run.js';
import { declareSeedTests } from './property-tests.js';

// Runs the other half of the random cases of the slow tier; there are two files, so that two Jest workers share the cases.
declareSeedTests(slowTierSeeds(1));
