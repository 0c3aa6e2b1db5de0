import { useRouter } from '@tanstack/react-router';
import { memo, type MouseEvent } from 'react';
import { Badge } from '../../../ui/badge.tsx';
import { clusterTone } from '../providers/cluster-state.ts';
import {
  cellStates,
  cellLabels,
  countsText,
  drawLegendCell,
  nodeText,
  drawNode,
  type CellState,
  type ClusterGroup,
  type NodeDrawing,
  type RegionGroup,
} from './fleet-layout.ts';
import type { FleetNode } from '../common/fleet-nodes.ts';

const fills: Readonly<Record<CellState, string>> = {
  free: 'fill-good',
  sold: 'fill-accent',
  draining: 'fill-warn',
  registering: 'fill-info',
  offline: 'fill-soft',
  quarantined: 'fill-bad',
  broken: 'fill-bad',
};

function Cells({ picture }: Readonly<{ picture: NodeDrawing }>) {
  const { width, height, shapes } = picture;
  return (
    <svg viewBox={`0 0 ${String(width)} ${String(height)}`} width={width} height={height} aria-hidden>
      {shapes.map(({ state, path }) => (
        <path key={state} d={path} className={fills[state]} />
      ))}
    </svg>
  );
}

export function Legend() {
  return (
    <ul aria-label="Legend" className="text-soft flex flex-wrap gap-x-4 gap-y-1 text-xs">
      {cellStates.map((state) => (
        <li key={state} className="flex items-center gap-1.5">
          <Cells picture={drawLegendCell(state)} />
          {cellLabels[state]}
        </li>
      ))}
    </ul>
  );
}

const frames: Readonly<Record<string, string>> = {
  node_ready: 'border-line',
  node_registering: 'border-info border-dashed',
  node_draining: 'border-warn',
  node_offline: 'border-field border-dashed',
  node_quarantined: 'border-bad',
};

/** Re-renders only if the node changed: unchanged data keeps its identity across reloads. */
const Tile = memo(function Tile({ node, href }: Readonly<{ node: FleetNode; href: string }>) {
  const words = nodeText(node);
  return (
    <a
      href={href}
      data-node={node.id}
      aria-label={words}
      title={words}
      className={`bg-surface hover:bg-raised flex flex-col gap-1 rounded-md border px-2 py-1.5 ${frames[node.status] ?? 'border-line'}`}
    >
      <span className="max-w-28 truncate text-xs">{node.name}</span>
      <Cells picture={drawNode(node)} />
    </a>
  );
});

/** Plain links with one click handler: a thousand router links would each subscribe to URL changes. */
export function FleetMap({ regions }: Readonly<{ regions: readonly RegionGroup[] }>) {
  const router = useRouter();
  const base = router.buildLocation({ to: '/operator/nodes/$nodeId', params: { nodeId: 'NODE' } }).href;
  const hrefOf = (id: string): string => router.history.createHref(base.replace('NODE', id));
  const follow = (event: MouseEvent<HTMLElement>): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const id = event.target instanceof Element && event.target.closest('a')?.dataset['node'];
    if (typeof id !== 'string') return;
    event.preventDefault();
    void router.navigate({ to: '/operator/nodes/$nodeId', params: { nodeId: id } });
  };
  return (
    // Keyboard users reach the links directly; this handler only avoids a page load.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions
    <div onClick={follow}>
      {regions.map(({ region, clusters, counts }) => (
        <section key={region} aria-label={region} className="border-line bg-surface mb-4 rounded-lg border">
          <div className="border-line flex flex-wrap items-baseline justify-between gap-2 border-b px-4 py-3">
            <h2>{region}</h2>
            <p className="text-soft text-xs">
              {String(counts.nodes)} nodes, {countsText(counts)}
            </p>
          </div>
          <div className="flex flex-col gap-4 p-4">
            {clusters.map((group) => (
              <Cluster key={group.id} group={group} hrefOf={hrefOf} />
            ))}
          </div>
        </section>
      ))}
    </div>
  );
}

function Cluster({ group, hrefOf }: Readonly<{ group: ClusterGroup; hrefOf: (id: string) => string }>) {
  const { name, providerId, cluster, nodes, counts } = group;
  return (
    // Skip the layout of off-screen clusters.
    <div
      className={nodes.length > 100 ? '[contain-intrinsic-size:auto_40rem] [content-visibility:auto]' : ''}
    >
      <div className="mb-1.5 flex flex-wrap items-center gap-x-2 gap-y-1">
        <h3>{name}</h3>
        <span className="text-soft text-xs">
          {providerId}
          {cluster === null ? '' : `, ${cluster.driver}, ${cluster.offer.replaceAll('-', ' ')}`}
        </span>
        {cluster !== null && <Badge tone={clusterTone(cluster.status)}>{cluster.status}</Badge>}
        <span className="text-soft text-xs">{countsText(counts)}</span>
      </div>
      {cluster !== null && cluster.status !== 'connected' && cluster.statusReason !== null && (
        <p className="text-warn mb-1.5 text-xs">{cluster.statusReason}</p>
      )}
      {nodes.length === 0 ? (
        <p className="text-soft text-xs">No nodes yet. They appear when the engine responds.</p>
      ) : (
        <ul className="flex flex-wrap gap-1.5">
          {nodes.map((node) => (
            <li key={node.id}>
              <Tile node={node} href={hrefOf(node.id)} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
