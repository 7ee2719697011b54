// Runs `body-ids.test.ts` with more values that are not ids, and with the empty string for every other key.
import './body-ids.test.js';
