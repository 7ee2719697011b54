import { slowTierSeeds } from './property-run.js';
import { declareSeedTests } from './property-tests.js';

// Runs the second half of 10,000 random cases; there are two files, so that two Jest workers share the cases.
declareSeedTests(slowTierSeeds(1));
