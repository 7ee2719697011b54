import './pages.slow.test.js';
import './terms.test.js';
import { deletedOrReplacedRowsFlag } from './dataset.js';
import { fastTierSeeds } from './property-run.js';
import { declareSeedTests } from './property-tests.js';

// Repeats the imported tests, and the random cases of property.slow.test.ts, over segments some of whose records have been replaced by rows
// of later segments.
process.env[deletedOrReplacedRowsFlag] = 'replaced';
declareSeedTests(fastTierSeeds());
