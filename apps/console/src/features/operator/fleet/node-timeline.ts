import type { Item } from '@millrace/sdk';
import { approximateDuration } from '@millrace/sdk/text';

type Transition = Item<'adminListNodeTransitions'>;

export interface TimelineEntry {
  readonly seq: number;
  readonly state: Transition['to'];
  readonly at: string;
  /** How long the node was in this state, or has been. */
  readonly lasted: string;
  readonly isCurrent: boolean;
  readonly reason: string;
  readonly actor: TimelineActor;
}

export type TimelineActor =
  | { readonly kind: 'user'; readonly id: string; readonly isMe: boolean }
  | { readonly kind: 'platform'; readonly name: string };

/** The service names the kind of an actor first: `operator:usr_…`, `system:fleet-sync`. */
export function timelineActor(actor: string, myId: string): TimelineActor {
  const [, kind, name = actor] = /^(\w+):(.+)$/.exec(actor) ?? [];
  if (kind === 'operator') return { kind: 'user', id: name, isMe: name === myId };
  return { kind: 'platform', name: name.replaceAll('-', ' ') };
}

/** States of a node with the time that each lasted. Transitions are newest first, as the service sends them. */
export function nodeTimeline(
  transitions: readonly Transition[],
  { nowMs, myId }: { readonly nowMs: number; readonly myId: string },
): readonly TimelineEntry[] {
  return transitions.map(({ seq, to, at, reason, actor }, index) => {
    const next = transitions[index - 1];
    const endMs = next === undefined ? nowMs : Date.parse(next.at);
    return {
      seq,
      state: to,
      at,
      lasted: approximateDuration(Math.max(0, (endMs - Date.parse(at)) * 0.001)),
      isCurrent: index === 0,
      reason,
      actor: timelineActor(actor, myId),
    };
  });
}
