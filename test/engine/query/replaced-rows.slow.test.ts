import './pages.slow.test.js';
import './terms.test.js';
import { otherRowsFlag } from './dataset.js';
import { fewSeeds } from './property-run.js';
import { testSeeds } from './property-tests.js';

// The same random queries, orders and pages, over segments some of whose records were replaced by rows of later segments.
process.env[otherRowsFlag] = 'replaced';
testSeeds(fewSeeds());
