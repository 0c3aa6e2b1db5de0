/** What a jsonb column holds. Stores turn it into a domain type; nobody else sees it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
