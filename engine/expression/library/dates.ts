import { functionError } from '../values/expression-errors.js';
import { strOf } from '../values/repr.js';
import type { PyValue, Runtime } from '../values/python-values.js';

/** A date and time of day. `offset` is the offset from UTC in minutes, if known; `zone` is the name of the time zone, or empty. */
interface CalendarTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly microsecond: number;
  readonly offset: number | undefined;
  readonly zone: string;
}

const monthNames =
  'January February March April May June July August September October November December'.split(
    ' ',
  );
const weekdayNames = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');
const isoFormat = '%Y-%m-%dT%H:%M:%S';

/** The formats that are tried, in this order, for a text without a given format. */
const inputFormats = [
  '%Y-%m-%dT%H:%M:%S.%f%z',
  '%Y-%m-%dT%H:%M:%S%z',
  '%Y-%m-%dT%H:%M:%S.%f',
  '%Y-%m-%dT%H:%M:%S',
  '%Y-%m-%dT%H:%M%z',
  '%Y-%m-%dT%H:%M',
  '%Y-%m-%d %H:%M:%S.%f',
  '%Y-%m-%d %H:%M:%S',
  '%Y-%m-%d %H:%M',
  '%Y-%m-%d',
  '%m/%d/%Y',
  '%Y%m%d',
  '%d %b %Y',
  '%d %B %Y',
  '%b %d, %Y',
  '%B %d, %Y',
];

export function formatDateTime(
  runtime: Runtime,
  value: PyValue,
  input: PyValue | undefined,
  output: PyValue | undefined,
): PyValue {
  if (value === null) return null;
  const text = strOf(runtime, value);
  if (text.length > 200) throw functionError('datetime_format() needs a date, not a long text');
  const format = output === undefined || output === null ? isoFormat : strOf(runtime, output);
  const formats = input === undefined || input === null ? inputFormats : [strOf(runtime, input)];
  for (const one of formats) {
    const time = parseTime(text, one);
    if (time !== undefined) return formatTime(runtime, time, format);
  }
  throw functionError(
    formats.length === 1
      ? `time data '${text}' does not match format '${formats[0]}'`
      : `'${text}' is not a date; give its input_format`,
  );
}

/** Returns the text of the host's current time in a zone; `EST` is UTC-05:00 all year. `standard` is the format without a `template`. */
export function currentTime(
  runtime: Runtime,
  zone: PyValue | undefined,
  template: PyValue | undefined,
  standard: string,
): PyValue {
  const name = zone === undefined || zone === null ? 'EST' : strOf(runtime, zone);
  const now = runtime.host.now ?? Date.now();
  const format = template === undefined || template === null ? standard : strOf(runtime, template);
  return formatTime(runtime, timeInZone(now, name), format);
}

function timeInZone(now: number, name: string): CalendarTime {
  let offset = -300;
  if (name !== 'EST') {
    try {
      const formatter = new Intl.DateTimeFormat('en-US', {
        timeZone: name,
        timeZoneName: 'longOffset',
      });
      const text = formatter.formatToParts(now).find(({ type }) => type === 'timeZoneName')!.value;
      const [, sign, hours, minutes] = /([-+])(\d\d):(\d\d)/.exec(text) ?? [];
      offset = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
    } catch {
      // The only possible error is that the name of the zone is unknown.
      throw functionError(`unknown time zone '${name}'`);
    }
  }
  const local = new Date(now + offset * 60_000);
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    hour: local.getUTCHours(),
    minute: local.getUTCMinutes(),
    second: local.getUTCSeconds(),
    microsecond: local.getUTCMilliseconds() * 1000,
    offset,
    zone: name,
  };
}

/** Parses a text by a format of `strptime`; undefined if the text does not match or is not a date. Throws for an unknown directive. */
function parseTime(text: string, format: string): CalendarTime | undefined {
  const time = { year: 1900, month: 1, day: 1, hour: 0, minute: 0, second: 0, microsecond: 0 };
  let offset: number | undefined;
  let zone = '';
  let isAfternoon: boolean | undefined;
  let restOfText = text;
  const take = (pattern: RegExp): string | undefined => {
    const part = pattern.exec(restOfText)?.[0];
    if (part !== undefined) restOfText = restOfText.slice(part.length);
    return part;
  };
  const takeName = (names: readonly string[], length?: number): number => {
    const index = names.findIndex((name) =>
      restOfText.toLowerCase().startsWith(name.slice(0, length).toLowerCase()),
    );
    if (index >= 0) restOfText = restOfText.slice(names[index]!.slice(0, length).length);
    return index;
  };
  const readers: Readonly<Record<string, () => boolean>> = {
    Y: () => set('year', take(/^\d{4}/)),
    m: () => set('month', take(/^(1[0-2]|0[1-9]|[1-9])/)),
    d: () => set('day', take(/^(3[01]|[12]\d|0[1-9]|[1-9]| [1-9])/)),
    H: () => set('hour', take(/^(2[0-3]|[01]\d|\d)/)),
    I: () => set('hour', take(/^(1[0-2]|0[1-9]|[1-9])/)),
    M: () => set('minute', take(/^([0-5]\d|\d)/)),
    S: () => set('second', take(/^(6[01]|[0-5]\d|\d)/)),
    f: () => set('microsecond', take(/^\d{1,6}/)?.padEnd(6, '0')),
    y: () => {
      const year = take(/^\d\d/);
      return set('year', year && String(Number(year) + (Number(year) < 69 ? 2000 : 1900)));
    },
    b: () => set('month', String(takeName(monthNames, 3) + 1)) && time.month > 0,
    B: () => set('month', String(takeName(monthNames) + 1)) && time.month > 0,
    a: () => takeName(weekdayNames, 3) >= 0,
    A: () => takeName(weekdayNames) >= 0,
    j: () => {
      const day = take(/^(36[0-6]|3[0-5]\d|[12]\d\d|0\d\d|\d\d|\d)/);
      const date = new Date(Date.UTC(time.year, 0, Number(day ?? 0)));
      return (
        set('month', day && String(date.getUTCMonth() + 1)) && set('day', String(date.getUTCDate()))
      );
    },
    p: () => {
      const part = take(/^(am|pm)/i);
      isAfternoon = part?.toLowerCase() === 'pm';
      return part !== undefined;
    },
    z: () => {
      const part = take(/^(Z|[-+]\d\d:?\d\d(:?\d\d)?)/);
      const [, sign, hours, minutes] = /^([-+])(\d\d):?(\d\d)/.exec(part ?? '') ?? [];
      offset = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
      return part !== undefined;
    },
    Z: () => {
      zone = take(/^(UTC|GMT|EST)/i) ?? '';
      return zone !== '';
    },
    '%': () => take(/^%/) !== undefined,
  };
  const set = (name: keyof typeof time, part: string | undefined): boolean => {
    if (part !== undefined) time[name] = Number(part);
    return part !== undefined;
  };
  for (let i = 0; i < format.length; i++) {
    const character = format[i]!;
    if (character === '%') {
      i += 1;
      const directive = format[i] ?? '';
      if (!Object.hasOwn(readers, directive))
        throw functionError(`'${directive}' is a bad directive in format '${format}'`);
      if (!readers[directive]!()) return undefined;
    } else if (/\s/.test(character)) take(/^\s+/);
    else if (restOfText.startsWith(character)) restOfText = restOfText.slice(1);
    else return undefined;
  }
  if (restOfText !== '') return undefined;
  if (isAfternoon !== undefined) time.hour = (time.hour % 12) + (isAfternoon ? 12 : 0);
  const isDate = time.day <= new Date(Date.UTC(time.year, time.month, 0)).getUTCDate();
  return isDate ? { ...time, offset, zone } : undefined;
}

/** Formats a time by a format of `strftime`, with English names. */
function formatTime(runtime: Runtime, time: CalendarTime, format: string): string {
  const pad = (value: number, width = 2) => String(value).padStart(width, '0');
  const date = new Date(Date.UTC(2000, time.month - 1, time.day));
  date.setUTCFullYear(time.year);
  const weekday = (date.getUTCDay() + 6) % 7;
  const first = new Date(date);
  first.setUTCMonth(0, 1);
  const dayOfYear = Math.round((date.getTime() - first.getTime()) / 86_400_000) + 1;
  const offset = () => {
    if (time.offset === undefined) return '';
    const size = Math.abs(time.offset);
    return `${time.offset < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}${pad(size % 60)}`;
  };
  const writers: Readonly<Record<string, () => string>> = {
    a: () => weekdayNames[weekday]!.slice(0, 3),
    A: () => weekdayNames[weekday]!,
    w: () => String((weekday + 1) % 7),
    u: () => String(weekday + 1),
    d: () => pad(time.day),
    e: () => String(time.day).padStart(2, ' '),
    b: () => monthNames[time.month - 1]!.slice(0, 3),
    B: () => monthNames[time.month - 1]!,
    m: () => pad(time.month),
    y: () => pad(time.year % 100),
    Y: () => String(time.year),
    H: () => pad(time.hour),
    I: () => pad(time.hour % 12 || 12),
    p: () => (time.hour < 12 ? 'AM' : 'PM'),
    M: () => pad(time.minute),
    S: () => pad(time.second),
    f: () => pad(time.microsecond, 6),
    z: offset,
    Z: () => time.zone,
    j: () => pad(dayOfYear, 3),
    F: () => `${time.year}-${pad(time.month)}-${pad(time.day)}`,
    T: () => `${pad(time.hour)}:${pad(time.minute)}:${pad(time.second)}`,
    '%': () => '%',
  };
  runtime.budget.chargeText(format.length * 5);
  return format.replaceAll(/%(.)/gs, (whole, directive: string) =>
    Object.hasOwn(writers, directive) ? writers[directive]!() : whole,
  );
}
