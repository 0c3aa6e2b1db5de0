import type { Output } from '@millrace/sdk';

/**
 * Obstacles come in the order in which they are looked at, so whoever the last one stops came nearest: that is the one worth
 * telling.
 */
export function mainObstacle({
  placeable,
  nodesConsidered,
  obstacles,
}: Pick<Output<'explainPlacement'>, 'placeable' | 'nodesConsidered' | 'obstacles'>): string {
  if (placeable) return 'It can be had now.';
  const nearest = obstacles.at(-1);
  if (nearest === undefined) return 'No host can take it at the moment.';
  if (nearest.nodeCount === 0 || nodesConsidered === 0) return nearest.message;
  const hosts = nodesConsidered === 1 ? 'the one host' : `the ${String(nodesConsidered)} hosts`;
  return `Of ${hosts} there, ${String(nearest.nodeCount)} came nearest: ${nearest.message}`;
}

/** Obstacles that no waiting removes: nothing there is of the kind that is wanted. */
const permanentObstacles: ReadonlySet<string> = new Set([
  'REGION_NOT_OFFERED',
  'GPU_COUNT_NOT_OFFERED',
  'NO_NODES_IN_REGION',
  'WRONG_GPU_TYPE',
  'WRONG_NETWORK',
  'CUDA_TOO_OLD',
  'NODE_TOO_SMALL',
]);

/** Whether it is worth saying when it may be had. */
export function mayBecomeAvailable({ obstacles }: Pick<Output<'explainPlacement'>, 'obstacles'>): boolean {
  return obstacles.some(({ code }) => !permanentObstacles.has(code));
}
