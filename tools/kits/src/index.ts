export { atLeast, atMost, defineBench } from './bench/define.ts';
export type { Bar, Bench, BenchReport, BenchRun } from './bench/define.ts';
export type { Measure, MeasureOptions } from './bench/measure.ts';
export { createRandom } from '@millrace/testing/random';
export type { Random } from '@millrace/testing/random';
export { defineProof } from './prove/define.ts';
export type { Proof, ProofReport, ProofRun } from './prove/define.ts';
export { defineSim } from './sim/define.ts';
export type { Action, Sim, Validator } from './sim/define.ts';
