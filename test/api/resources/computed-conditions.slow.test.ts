/* Runs `computed-conditions.test.ts` with more random queries over computed fields. */
import './computed-conditions.test.js';
