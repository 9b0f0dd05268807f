// One instance is one rectangle: its edges in device pixels from the top left, and its colour.
// The line that tells the version of the language is put before this.

in vec4 edges;
in vec4 colour;

uniform vec2 size;
uniform vec4 clip;

flat out vec4 fill;

void main() {
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    // Not by scissors: with several samples a pixel, Mesa's software drivers let half a pixel through.
    vec2 at = clamp(mix(edges.xy, edges.zw, corner), clip.xy, clip.zw) / size * 2.0 - 1.0;
    fill = colour;
    gl_Position = vec4(at.x, -at.y, 0.0, 1.0);
}
