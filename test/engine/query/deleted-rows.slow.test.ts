import './ranks-alike.test.js';
import './terms.test.js';
import { deletedOrReplacedRowsFlag } from './dataset.js';
import { fastTierSeeds } from './property-run.js';
import { declareSeedTests } from './property-tests.js';

// Repeats the imported tests, and the random cases of property.slow.test.ts, over segments that have deleted rows among their records.
process.env[deletedOrReplacedRowsFlag] = 'deleted';
declareSeedTests(fastTierSeeds());
