import type { ExpectedSteps, Step } from '@millrace/sdk/text';
import { changeLine, progressLines, type TimedStep } from './view.ts';

/** Where progress is shown: standard error, so that what is asked for can be piped on. */
export interface ProgressScreen {
  readonly write: (text: string) => void;
  readonly isTty: boolean;
  /** Asked for anew with each drawing: windows change their size. */
  readonly columns: () => number;
  readonly color: boolean;
}

const hideCursor = '\u001B[?25l';
const showCursor = '\u001B[?25h';
const clearLine = '\u001B[2K';
const cursorUp = (lines: number): string => (lines === 0 ? '' : `\u001B[${lines}A`);

/**
 * Shows how far something is. On a terminal the same lines are drawn again and again, so that the seconds are seen to
 * pass; elsewhere, as in a log, each change is one line and nothing is taken back.
 */
export class Progress {
  readonly #screen: ProgressScreen;
  readonly #plan: ExpectedSteps;
  readonly #firstSeenMs = new Map<string, number>();
  readonly #reported = new Map<string, Step['status']>();
  #steps: readonly Step[] = [];
  #drawn = 0;

  constructor(screen: ProgressScreen, plan: ExpectedSteps) {
    this.#screen = screen;
    this.#plan = plan;
    if (screen.isTty) screen.write(hideCursor);
  }

  /** What the API says now. */
  show(steps: readonly Step[], nowMs: number): void {
    this.#steps = steps;
    for (const [index, step] of steps.entries()) {
      const key = keyOf(step, index);
      if (step.status === 'running' && !this.#firstSeenMs.has(key)) this.#firstSeenMs.set(key, nowMs);
    }
    if (this.#screen.isTty) this.#draw(nowMs);
    else this.#notify(nowMs);
  }

  /** Time has passed. */
  tick(nowMs: number): void {
    if (this.#screen.isTty) this.#draw(nowMs);
  }

  /** What is drawn stays; the cursor is back, whatever ended the watching. */
  end(): void {
    if (this.#screen.isTty) this.#screen.write(showCursor);
  }

  #timed(nowMs: number): readonly TimedStep[] {
    return this.#steps.map((step, index) => ({
      ...step,
      elapsedMs: elapsedMs(step, this.#firstSeenMs.get(keyOf(step, index)), nowMs),
    }));
  }

  #draw(nowMs: number): void {
    const { columns, color } = this.#screen;
    const lines = progressLines(this.#plan, this.#timed(nowMs), { columns: columns(), color, nowMs });
    // Steps never become fewer, but a line of the plan may go when another way was taken.
    const rest = Math.max(0, this.#drawn - lines.length);
    const text = lines.map((line) => `${clearLine}${line}\n`).join('');
    this.#screen.write(cursorUp(this.#drawn) + text + `${clearLine}\n`.repeat(rest) + cursorUp(rest));
    this.#drawn = lines.length;
  }

  #notify(nowMs: number): void {
    for (const [index, step] of this.#timed(nowMs).entries()) {
      const key = keyOf(step, index);
      if (this.#reported.get(key) === step.status || step.status === 'waiting') continue;
      this.#reported.set(key, step.status);
      this.#screen.write(`${changeLine(this.#plan, step)}\n`);
    }
  }
}

/** The same name comes again when something is tried on another host. */
function keyOf(step: Step, index: number): string {
  return `${step.name} ${step.startedAt ?? index}`;
}

function elapsedMs(step: Step, firstSeenMs: number | undefined, nowMs: number): number | null {
  if (step.status === 'running') return firstSeenMs === undefined ? null : nowMs - firstSeenMs;
  if (step.startedAt === null || step.endedAt === null) return null;
  return Date.parse(step.endedAt) - Date.parse(step.startedAt);
}
