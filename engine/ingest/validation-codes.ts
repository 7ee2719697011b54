/** The codes of errors and warnings about records (specification, "Validation codes"). */
export const codes = {
  unreadableLine: 0,
  columnName: 202,
  newColumn: 203,
  invalidValue: 301,
  listExpected: 302,
  unexpectedList: 303,
  nan: 304,
  infinity: 305,
  stringLength: 306,
  tooManyColumns: 400,
  /** Choice: the specification has no code for an expression that fails, so code 500 is added. */
  expressionError: 500,
} as const;

/** The names of the codes in the interface. */
export const nameByCode: ReadonlyMap<number, string> = new Map([
  [codes.unreadableLine, 'Unreadable Line'],
  [codes.columnName, 'Column Name Warning'],
  [codes.newColumn, 'New Column added'],
  [codes.invalidValue, 'Invalid Value for Field'],
  [codes.listExpected, 'List Expected'],
  [codes.unexpectedList, 'Unexpected List'],
  [codes.nan, 'NaN Value for Field'],
  [codes.infinity, 'Infinity Value for Field'],
  [codes.stringLength, 'Max String Length for Field'],
  [codes.tooManyColumns, 'Too Many Columns'],
  [codes.expressionError, 'Expression Error'],
]);

/** The message of warning 302 if a list field gets a single value. */
export const listOfOneWarning = 'one value where a list is expected: a list of one is stored';
/** The message of warning 303 if a scalar field gets a list. */
export const firstOfListWarning = 'a list where one value is expected: its first is stored';
