import { lazy, Suspense } from 'react';
import { Loading } from './states.tsx';
import type { ChartProps } from './chart-canvas.tsx';

const Canvas = lazy(async () => ({ default: (await import('./chart-canvas.tsx')).ChartCanvas }));

/** Time series chart with a data table below. The drawing library is loaded with the first chart. */
export function Chart(props: ChartProps) {
  return (
    <Suspense fallback={<Loading what={props.label} />}>
      <Canvas {...props} />
    </Suspense>
  );
}
