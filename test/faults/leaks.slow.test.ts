// Three times as many requests.
import './leaks.test.js';
