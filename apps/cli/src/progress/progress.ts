import type { ExpectedSteps, Step } from '@millrace/sdk/text';
import { changeLine, progressLines, type TimedStep } from './view.ts';

/** Progress is printed on standard error, so that data can be piped. */
export interface ProgressScreen {
  readonly write: (text: string) => void;
  readonly isTty: boolean;
  /** Read at each redraw, because windows change their size. */
  readonly columns: () => number;
  readonly color: boolean;
}

const hideCursor = '\u001B[?25l';
const showCursor = '\u001B[?25h';
const clearLine = '\u001B[2K';
const cursorUp = (lines: number): string => (lines === 0 ? '' : `\u001B[${lines}A`);

/** Shows progress. A terminal is redrawn, so that times count up; other outputs get one line per change. */
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

  /** Shows the current steps of the API. */
  show(steps: readonly Step[], nowMs: number): void {
    this.#steps = steps;
    for (const [index, step] of steps.entries()) {
      const key = keyOf(step, index);
      if (step.status === 'running' && !this.#firstSeenMs.has(key)) this.#firstSeenMs.set(key, nowMs);
    }
    if (this.#screen.isTty) this.#draw(nowMs);
    else this.#notify(nowMs);
  }

  /** Redraws with the elapsed time. */
  tick(nowMs: number): void {
    if (this.#screen.isTty) this.#draw(nowMs);
  }

  /** Keeps the last lines and restores the cursor. */
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
    // A retry on another host can remove expected steps, so clear surplus lines.
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

/** Step names repeat when a rental is retried on another host. */
function keyOf(step: Step, index: number): string {
  return `${step.name} ${step.startedAt ?? index}`;
}

function elapsedMs(step: Step, firstSeenMs: number | undefined, nowMs: number): number | null {
  if (step.status === 'running') return firstSeenMs === undefined ? null : nowMs - firstSeenMs;
  if (step.startedAt === null || step.endedAt === null) return null;
  return Date.parse(step.endedAt) - Date.parse(step.startedAt);
}
