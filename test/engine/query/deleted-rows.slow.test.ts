import './ranks-alike.test.js';
import './terms.test.js';
import { deletedRowsFlag } from './dataset.js';
import { fewSeeds } from './property-run.js';
import { testSeeds } from './property-tests.js';

// The same random queries, weights and pages, over segments that hold deleted rows among their records.
process.env[deletedRowsFlag] = '1';
testSeeds(fewSeeds());
