import './ranks-alike.test.js';
import './terms.test.js';
import { deletedOrReplacedRowsFlag } from './dataset.js';
import { fastTierSeeds } from './property-run.js';
import { declareSeedTests } from './property-tests.js';

// Repeats the tests with the same random queries, weights and pages, over segments that have deleted rows among their records.
process.env[deletedOrReplacedRowsFlag] = 'deleted';
declareSeedTests(fastTierSeeds());
