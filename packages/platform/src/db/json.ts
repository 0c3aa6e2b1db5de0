/** The value of a jsonb column. Stores convert it to a domain type. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
