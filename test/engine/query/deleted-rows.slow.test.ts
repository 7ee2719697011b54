import './ranks-alike.test.js';
import './terms.test.js';
import { otherRowsFlag } from './dataset.js';
import { fewSeeds } from './property-run.js';
import { testSeeds } from './property-tests.js';

// The same random queries, weights and pages, over segments that hold deleted rows among their records.
process.env[otherRowsFlag] = 'deleted';
testSeeds(fewSeeds());
