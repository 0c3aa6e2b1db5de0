import type { GeneratedTables } from './tables.generated.ts';

/** All tables for Kysely. Generated from the migrated database; a test compares them. */
export type Tables = GeneratedTables;
