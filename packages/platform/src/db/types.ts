import { types, type CustomTypesConfig } from 'pg';

const int8 = types.builtins.INT8;
const date = types.builtins.DATE;
const int8Array = 1016 as typeof int8;
const textArray = 1009 as typeof int8;

const parseTextArray = types.getTypeParser(textArray, 'text') as (value: string) => string[];

/**
 * How columns become values, for our pools only (the driver's own table is shared by the whole process).
 * bigint stays exact; a date without a time stays text, because a `Date` would move it by the local zone.
 */
export const columnTypes: CustomTypesConfig = {
  getTypeParser: ((id: typeof int8, format?: 'text' | 'binary') => {
    if (format !== 'binary') {
      if (id === int8) return BigInt;
      if (id === int8Array) return (value: string) => parseTextArray(value).map(BigInt);
      if (id === date) return String;
    }
    return types.getTypeParser(id, format as 'text') as (value: string) => unknown;
  }) as typeof types.getTypeParser,
};
