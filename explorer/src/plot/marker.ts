/** Shapes that tell classes apart without colour. */

export type Path2 = Pick<CanvasRenderingContext2D, "moveTo" | "lineTo" | "arc" | "closePath" | "rect">;

const SHAPES = ["circle", "square", "triangle", "diamond", "down", "pentagon", "plus", "star"] as const;

/** Adds the shape of class k around (x, y) to a path. */
export function marker(path: Path2, k: number, x: number, y: number, r: number): void {
  switch (SHAPES[k % SHAPES.length]) {
    case "circle":
      path.moveTo(x + r, y);
      path.arc(x, y, r, 0, 2 * Math.PI);
      return;
    case "square":
      path.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
      return;
    case "triangle":
      return polygon(path, 3, x, y + 0.15 * r, 1.25 * r, -Math.PI / 2);
    case "diamond":
      return polygon(path, 4, x, y, 1.25 * r, 0);
    case "down":
      return polygon(path, 3, x, y - 0.15 * r, 1.25 * r, Math.PI / 2);
    case "pentagon":
      return polygon(path, 5, x, y, 1.12 * r, -Math.PI / 2);
    case "plus": {
      const [a, b] = [0.42 * r, 1.15 * r];
      const corners = [
        [-a, -b],
        [a, -b],
        [a, -a],
        [b, -a],
        [b, a],
        [a, a],
        [a, b],
        [-a, b],
        [-a, a],
        [-b, a],
        [-b, -a],
        [-a, -a],
      ];
      corners.forEach(([dx, dy], i) => (i === 0 ? path.moveTo(x + dx, y + dy) : path.lineTo(x + dx, y + dy)));
      path.closePath();
      return;
    }
    case "star":
      for (let i = 0; i < 10; i++) {
        const angle = -Math.PI / 2 + (i * Math.PI) / 5;
        const radius = (i % 2 === 0 ? 1.35 : 0.6) * r;
        const [px, py] = [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
        if (i === 0) path.moveTo(px, py);
        else path.lineTo(px, py);
      }
      path.closePath();
  }
}

function polygon(path: Path2, n: number, x: number, y: number, r: number, turn: number): void {
  for (let i = 0; i < n; i++) {
    const angle = turn + (2 * Math.PI * i) / n;
    const [px, py] = [x + r * Math.cos(angle), y + r * Math.sin(angle)];
    if (i === 0) path.moveTo(px, py);
    else path.lineTo(px, py);
  }
  path.closePath();
}
