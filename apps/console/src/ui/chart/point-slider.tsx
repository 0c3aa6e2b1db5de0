import { useId } from 'react';

interface PointSliderProps {
  readonly label: string;
  /** Indices of the first and last visible sample, and of the chosen one. */
  readonly first: number;
  readonly last: number;
  readonly index: number;
  /** Time and values of the chosen sample. */
  readonly text: string;
  /** Null: none is chosen. */
  readonly onChoose: (index: number | null) => void;
  readonly onKey: Readonly<Record<string, () => void>>;
}

/** Keyboard and screen reader control of a chart. It is not visible: the chart has the focus ring and shows the values. */
export function PointSlider({ label, first, last, index, text, onChoose, onKey }: PointSliderProps) {
  const id = useId();
  return (
    <>
      <input
        type="range"
        className="sr-only"
        aria-label={`${label}, values over time`}
        aria-describedby={id}
        aria-valuetext={text}
        min={first}
        max={last}
        value={index}
        onChange={({ target }) => onChoose(Number(target.value))}
        onFocus={() => onChoose(index)}
        onBlur={() => onChoose(null)}
        onKeyDown={(event) => {
          const action = onKey[event.key];
          if (action === undefined) return;
          event.preventDefault();
          action();
        }}
      />
      <span id={id} className="sr-only">
        Arrow keys move between samples, plus and minus zoom, 0 shows the whole period.
      </span>
    </>
  );
}
