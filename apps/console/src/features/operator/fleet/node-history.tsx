import type { Output } from '@millrace/sdk';
import { History } from 'lucide-react';
import { useSession } from '../../../api/session.tsx';
import { StateBadge } from '../../../ui/badge.tsx';
import { Button } from '../../../ui/button.tsx';
import { CopyButton } from '../../../ui/copy.tsx';
import { usePages } from '../../../ui/list.tsx';
import { Card } from '../../../ui/page.tsx';
import { EmptyState, Loading, Problem } from '../../../ui/states.tsx';
import { Timestamp, useNow } from '../../../ui/time.tsx';
import { Timeline } from '../../../ui/timeline.tsx';
import { nodeTimeline, type TimelineActor } from './node-timeline.ts';

type Node = Output<'adminGetNode'>;

function Actor({ actor }: Readonly<{ actor: TimelineActor }>) {
  if (actor.kind === 'platform') return <>by the platform ({actor.name})</>;
  if (actor.isMe) return <>by you</>;
  return (
    <span className="inline-flex items-center gap-1">
      by another operator <CopyButton text={actor.id} what="user ID of the operator" />
    </span>
  );
}

/** States of the node, newest first, with their durations. */
export function NodeHistory({ node }: Readonly<{ node: Node }>) {
  const { me } = useSession();
  const now = useNow(60_000);
  const pages = usePages(['admin', 'node', node.id, 'transitions', node.statusSince], (client, signal) =>
    client.admin.nodes.listTransitions({ nodeId: node.id, limit: 20 }, { signal }),
  );
  const transitions = pages.data?.items;
  return (
    <Card title="History">
      {pages.error !== null && (
        <Problem error={pages.error} doing="load the history" retry={() => void pages.refetch()} />
      )}
      {transitions === undefined && pages.error === null && <Loading what="history" />}
      {transitions?.length === 0 && <EmptyState icon={History} title="No changes yet" />}
      <Timeline
        label={`History of ${node.name}`}
        items={nodeTimeline(transitions ?? [], { nowMs: now, myId: me.user.id }).map((entry) => ({
          key: String(entry.seq),
          status: entry.isCurrent ? 'now' : 'done',
          title: <StateBadge state={entry.state} />,
          time: (
            <>
              <Timestamp at={entry.at} />,{' '}
              {entry.isCurrent ? `for ${entry.lasted} now` : `for ${entry.lasted}`}
            </>
          ),
          about: (
            <>
              {entry.reason}, <Actor actor={entry.actor} />
            </>
          ),
        }))}
      />
      {pages.hasNextPage && (
        <Button
          size="small"
          busy={pages.isFetchingNextPage && 'Loading more…'}
          onClick={() => void pages.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </Card>
  );
}
