import { describe, expect, it } from 'vitest';
import { nodeTimeline, timelineActor } from './node-timeline.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 7, 1, 12, minute)).toISOString();
const transitions = [
  { seq: 3, from: 'node_ready', to: 'node_draining', reason: 'fan', actor: 'operator:usr_me', at: at(40) },
  {
    seq: 2,
    from: 'node_registering',
    to: 'node_ready',
    reason: 'read',
    actor: 'system:fleet-sync',
    at: at(5),
  },
  { seq: 1, from: null, to: 'node_registering', reason: 'found', actor: 'system:fleet-sync', at: at(0) },
] as const;

describe('nodeTimeline', () => {
  it('says how long each state lasted and which one is current', () => {
    const entries = nodeTimeline(transitions, { nowMs: Date.parse(at(100)), myId: 'usr_me' });
    expect(entries.map(({ state, lasted, isCurrent }) => [state, lasted, isCurrent])).toEqual([
      ['node_draining', '1 h', true],
      ['node_ready', '35 min', false],
      ['node_registering', '5 min', false],
    ]);
  });

  it('tells users from parts of the platform', () => {
    expect(timelineActor('operator:usr_me', 'usr_me')).toEqual({ kind: 'user', id: 'usr_me', isMe: true });
    expect(timelineActor('operator:usr_other', 'usr_me')).toMatchObject({ kind: 'user', isMe: false });
    expect(timelineActor('system:fleet-sync', 'usr_me')).toEqual({ kind: 'platform', name: 'fleet sync' });
  });
});
