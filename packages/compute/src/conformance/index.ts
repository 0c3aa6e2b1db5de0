export type { DriverWorld, WorldFacts, WorldNode } from './world.ts';
