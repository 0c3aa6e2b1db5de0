import type { Output } from '@millrace/sdk';

/** Describes the last obstacle: checks run in order, so the nodes that it rejected came closest to a placement. */
export function mainObstacle({
  placeable,
  nodesConsidered,
  obstacles,
}: Pick<Output<'explainPlacement'>, 'placeable' | 'nodesConsidered' | 'obstacles'>): string {
  if (placeable) return 'Available now.';
  const nearest = obstacles.at(-1);
  if (nearest === undefined) return 'No capacity right now.';
  if (nearest.nodeCount === 0 || nodesConsidered === 0) return nearest.message;
  const hosts = nodesConsidered === 1 ? '1 host' : `${String(nodesConsidered)} hosts`;
  return `Checked ${hosts}; the closest match (${String(nearest.nodeCount)}) was rejected: ${nearest.message}`;
}

/** Obstacles that waiting does not remove. */
const permanentObstacles: ReadonlySet<string> = new Set([
  'REGION_NOT_OFFERED',
  'GPU_COUNT_NOT_OFFERED',
  'NO_NODES_IN_REGION',
  'WRONG_GPU_TYPE',
  'WRONG_NETWORK',
  'CUDA_TOO_OLD',
  'NODE_TOO_SMALL',
]);

export function mayBecomeAvailable({ obstacles }: Pick<Output<'explainPlacement'>, 'obstacles'>): boolean {
  return obstacles.some(({ code }) => !permanentObstacles.has(code));
}
