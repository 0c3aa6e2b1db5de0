import type { GeneratedTables } from './tables.generated.ts';

/** Every table, as Kysely sees it. Generated from the migrated database; a test keeps the two equal. */
export type Tables = GeneratedTables;
