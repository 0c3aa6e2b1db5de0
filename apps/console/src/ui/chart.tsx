import { lazy, Suspense } from 'react';
import { Loading } from './states.tsx';
import type { ChartProps } from './chart-canvas.tsx';

const Canvas = lazy(async () => ({ default: (await import('./chart-canvas.tsx')).ChartCanvas }));

/** Values over time. The drawing library is loaded when the first chart is; a table with the same values stands below it. */
export function Chart(props: ChartProps) {
  return (
    <Suspense fallback={<Loading what={props.label} />}>
      <Canvas {...props} />
    </Suspense>
  );
}
