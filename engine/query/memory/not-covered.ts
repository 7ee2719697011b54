/** Columns in memory do not answer this: the SQL engine does. */
export class NotCovered extends Error {
  constructor(what = 'not covered') {
    super(what);
    this.name = 'NotCovered';
  }
}
