export interface Component {
  readonly members: readonly number[];
  /** A member can reach itself. */
  readonly isCycle: boolean;
}

interface Frame {
  readonly node: number;
  readonly targets: readonly number[];
  next: number;
}

/** Strongly connected components by Tarjan's algorithm, without recursion, because the graphs can be deep. */
export function componentsOf(
  nodes: readonly number[],
  targetsOf: (node: number) => readonly number[],
): Component[] {
  const index = new Map<number, number>();
  const low = new Map<number, number>();
  const stacked = new Set<number>();
  const stack: number[] = [];
  const found: Component[] = [];
  const lower = (node: number, to: number): void => {
    low.set(node, Math.min(low.get(node) ?? to, to));
  };
  const enter = (node: number): Frame => {
    index.set(node, index.size);
    low.set(node, index.size - 1);
    stack.push(node);
    stacked.add(node);
    return { node, targets: targetsOf(node), next: 0 };
  };
  for (const root of nodes) {
    if (index.has(root)) continue;
    const frames: Frame[] = [enter(root)];
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const target = frame.targets[frame.next++];
      if (target !== undefined) {
        if (!index.has(target)) frames.push(enter(target));
        else if (stacked.has(target)) lower(frame.node, index.get(target) ?? 0);
        continue;
      }
      frames.pop();
      const parent = frames.at(-1);
      if (parent !== undefined) lower(parent.node, low.get(frame.node) ?? 0);
      if (low.get(frame.node) === index.get(frame.node)) found.push(closeComponent(frame, stack, stacked));
    }
  }
  return found;
}

function closeComponent(frame: Frame, stack: number[], stacked: Set<number>): Component {
  const members: number[] = [];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    members.push(node);
    stacked.delete(node);
    if (node === frame.node) break;
  }
  return { members, isCycle: members.length > 1 || frame.targets.includes(frame.node) };
}
