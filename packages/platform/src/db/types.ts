import { types, type CustomTypesConfig } from 'pg';

const int8 = types.builtins.INT8;
const date = types.builtins.DATE;
const int8Array = 1016 as typeof int8;
const textArray = 1009 as typeof int8;

const parseAnyTextArray = types.getTypeParser(textArray, 'text') as (value: string) => string[];

/** Splits plain lists, because the driver's parser reads every character. Other lists use the driver's parser. */
export function parseTextArray(value: string): string[] {
  if (value === '{}') return [];
  return /^\{[^"\\{}]+\}$/.test(value) && !/null/i.test(value)
    ? value.slice(1, -1).split(',')
    : parseAnyTextArray(value);
}

/** Column types of our pools only. bigint stays exact; a date stays text, as a `Date` shifts by time zone. */
export const columnTypes: CustomTypesConfig = {
  getTypeParser: ((id: typeof int8, format?: 'text' | 'binary') => {
    if (format !== 'binary') {
      if (id === int8) return BigInt;
      if (id === textArray) return parseTextArray;
      if (id === int8Array) return (value: string) => parseTextArray(value).map(BigInt);
      if (id === date) return String;
    }
    return types.getTypeParser(id, format as 'text') as (value: string) => unknown;
  }) as typeof types.getTypeParser,
};
