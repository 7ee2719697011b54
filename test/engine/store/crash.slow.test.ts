// Repeats the tests of `crash.test.js` with a kill at every crash point of a commit, and with more kills at random moments.
import './crash.test.js';
